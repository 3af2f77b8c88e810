package archivesource

import (
	"errors"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// step moves a cursor. Volumes that are missing, which a cursor reports once, are passed over, as
// in the C library.
func step(c *archive.Cursor, move func(*archive.Cursor) error) error {
	err := move(c)
	if err != nil && errors.Is(err, pdu.ErrLogFile) {
		err = move(c)
	}
	return err
}
