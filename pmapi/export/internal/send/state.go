package send

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/filesys"
)

// A state is how much a receiver has of an archive.
type state struct {
	Key    []string  // what it depends on
	Events int64     // how many records it has, and marks before them
	Upto   time.Time // the time of the last of those
	Batch  int64     // which events the batch that it has in part goes up to; 0 for none
	Parts  int       // how many messages of that it has
	Ended  bool      // the series have ended, with the archive
}

// maxState is how much is read of a file.
const maxState = 1 << 20

// readState reads a file. Without one it is the state before the first record. One of another
// archive, or of other options, is an error.
func readState(path string, key []string) (state, error) {
	if path == "" {
		return state{Key: key}, nil
	}
	f, err := filesys.OpenRegular(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return state{Key: key}, nil
	}
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxState))
	if err != nil {
		return state{}, err
	}
	s, err := parseState(text)
	if err != nil {
		return state{}, fmt.Errorf("%s is no state: %w", path, err)
	}
	if !slices.Equal(s.Key, key) {
		return state{}, fmt.Errorf("%s is of another archive, receiver, start or selection of metrics: %q, not %q", path, s.Key, key)
	}
	return s, nil
}

// parseState parses the text of a file. A state that cannot be is an error.
func parseState(text []byte) (s state, err error) {
	if err := json.Unmarshal(text, &s); err != nil {
		return state{}, err
	}
	inPart := s.Batch != 0 || s.Parts != 0
	switch {
	case s.Events < 0 || (s.Events == 0) != s.Upto.IsZero():
		return state{}, fmt.Errorf("%d records up to %v", s.Events, s.Upto)
	case inPart && (s.Batch <= s.Events || s.Parts <= 0):
		return state{}, fmt.Errorf("%d messages of records %d to %d", s.Parts, s.Events, s.Batch)
	case inPart && s.Ended:
		return state{}, errors.New("an end before the last record")
	}
	return s, nil
}

// write replaces a file at once.
func (s state) write(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := filesys.WriteNew(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
