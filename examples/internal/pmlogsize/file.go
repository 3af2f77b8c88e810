package pmlogsize

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// report prints what the bytes of a file are used for. It skips a file without a label.
func (s *sizer) report(ctx context.Context, path string) error {
	f, err := archive.Options{AnyFeature: true}.OpenFile(ctx, path)
	if errors.Is(err, pdu.ErrLogFile) {
		s.skip(path, misnamed(path))
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, pcptool.Cause(err))
	}
	defer f.Close()
	label, err := f.Label()
	if err != nil {
		s.skip(path, pcptool.Cause(err))
		return nil
	}
	size, err := f.Size()
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s:", path)
	if info, err := os.Stat(path); err == nil && info.Size() < size && isCompressed(path) {
		fmt.Fprintf(s.out, " [compression reduces size below by about %.0f%%]", percent(size-info.Size(), size))
	}
	s.out.WriteByte('\n')
	var used int64
	switch f.Volume() {
	case archive.VolumeIndex:
		used, err = s.reportIndex(f, label, size)
	case archive.VolumeMeta:
		used, err = s.reportMeta(f, label, size)
	default:
		used, err = s.reportData(f, label, size)
	}
	if err == nil && used != size {
		fmt.Fprintf(s.out, "  unaccounted for: %d bytes\n", size-used)
	}
	return err
}

// skip prints the reason why a file is skipped.
func (s *sizer) skip(path string, why error) {
	s.out.Flush()
	fmt.Fprintf(os.Stderr, "%s: cannot load label record: %v\n", terminal.Escape(path), why)
}

// misnamed returns the error of a file without the name of an archive's file.
func misnamed(path string) error {
	const magic = 0x50052600 // of labels, with the version in the last byte
	f, err := os.Open(path)
	if err != nil {
		return pcptool.Cause(err)
	}
	defer f.Close()
	var head [8]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return pdu.ErrNoData
	}
	if binary.BigEndian.Uint32(head[4:])&^0xff != magic {
		return pdu.ErrLabel
	}
	return pdu.ErrLogFile
}

func isCompressed(path string) bool {
	for _, suffix := range []string{".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"} {
		if strings.HasSuffix(path, suffix) {
			return true
		}
	}
	return false
}

// percent returns part as a percentage of whole.
func percent(part, whole int64) float64 { return 100 * float64(part) / float64(whole) }

// plural returns a word for a number of things.
func plural(n int64, word string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", word)
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// duplicates returns the text about values or instances that occur more than once.
func duplicates(bytes, n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d bytes for %s)", bytes, plural(n, "dup"))
}

// reportIndex prints the sizes of the index and returns the number of bytes that it has accounted
// for.
func (s *sizer) reportIndex(f *archive.File, label archive.Label, size int64) (int64, error) {
	var bytes, n int64
	for r, err := range f.Records() {
		if err != nil {
			break // an entry that is cut short is not accounted for
		}
		if r.Kind == archive.KindIndex {
			bytes += int64(len(r.Raw))
			n++
		}
	}
	fmt.Fprintf(s.out, "  index: %d bytes [%.0f%%, %d entries]\n", bytes, percent(bytes, size), n)
	fmt.Fprintf(s.out, "  overhead: %d bytes [%.0f%%]\n", label.Len(), percent(label.Len(), size))
	return bytes + label.Len(), nil
}

// readError returns the error of a record that cannot be read, with the lengths that PCP's tool
// prints.
func readError(f *archive.File, what string, size int64, err error) error {
	e, ok := errors.AsType[*archive.Error](err)
	length, have := int64(0), int64(0)
	if ok && errors.Is(err, pdu.ErrLogRec) {
		head := int64(4) // the length
		if what == "metadata" {
			head = 8 // and the type
		}
		have = size - e.Offset - head
		if length, ok = lengthAt(f.Path(), e.Offset); ok {
			if what == "metadata" {
				length -= 12
			} else {
				length += 4
			}
			return &pcptool.ExitError{Status: 1, Message: fmt.Sprintf("Error: %s read failed: len %d not %d\n", what, have, length), Err: err}
		}
	}
	return &pcptool.ExitError{Status: 1, Message: fmt.Sprintf("Error: %s read failed: %v\n", what, err), Err: err}
}

// lengthAt returns the length of the record at an offset of a file that is not compressed.
func lengthAt(path string, offset int64) (int64, bool) {
	if isCompressed(path) {
		return 0, false
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	var word [4]byte
	if _, err := f.ReadAt(word[:], offset); err != nil {
		return 0, false
	}
	return int64(int32(binary.BigEndian.Uint32(word[:]))), true
}
