package pmdaproc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestAccountingHandover checks that an agent that ends keeps the private file of its successor.
func TestAccountingHandover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pacct")
	create := func() *acctFile {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return &acctFile{private: path, path: path, f: f, kernel: true}
	}
	first := create()
	os.Remove(path)
	second := create()
	if err := first.read(10, func([]byte) {}); !errors.Is(err, errNoAccounting) {
		t.Errorf("the first reads on: %v", err)
	}
	first.close()
	if _, err := os.Stat(path); err != nil {
		t.Error("the file of the second was removed:", err)
	}
	second.close()
	if _, err := os.Stat(path); err == nil {
		t.Error("the file of the second is left behind")
	}
}
