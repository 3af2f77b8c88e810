package pmapi

import (
	"testing"
	"time"
)

// TestColumnReaderLimit adds columns until there is no room for another row.
func TestColumnReaderLimit(t *testing.T) {
	r := newColumnReader(new(Group))
	r.count = maxColumnValues / 4
	rows := 1
	for r.addRow(time.Time{}) {
		rows++
	}
	if rows != 4 {
		t.Errorf("%d rows of %d columns, want 4", rows, r.count)
	}
}
