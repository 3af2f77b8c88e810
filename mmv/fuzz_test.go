package mmv

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"
)

// FuzzMMV reads and dumps any bytes. An error is a *formatError without a file; a file can be
// walked, and contradicts nothing that the documentation says.
func FuzzMMV(f *testing.F) {
	for _, name := range recordings {
		f.Add(recorded(f, name))
		for _, c := range corruptions(f, name) {
			f.Add(c.image)
		}
	}
	f.Add(manyValues(2, 3))
	f.Add(sharedInstances(33_000))
	f.Add(sharedNames(2_000))
	f.Fuzz(func(t *testing.T, image []byte) {
		if _, err := Dump(io.Discard, "fuzz", bytes.NewReader(image), time.Now()); err != nil {
			t.Fatal(err)
		}
		file, err := Read(bytes.NewReader(image))
		if err != nil {
			if _, ok := errors.AsType[*formatError](err); !ok || file != nil {
				t.Fatalf("error %v (%T), file %v", err, err, file)
			}
			return
		}
		checkFile(t, file)
	})
}
