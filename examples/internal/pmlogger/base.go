package pmlogger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/strftime"
	"github.com/pcp-go/pcp/pdu"
)

// maxBases is the number of base names that are tried for a name with conversions of strftime(3),
// with -00, -01, … at the end.
const maxBases = 100

// chooseBase chooses the base name of the archive. The notes are about names that cannot be used.
// err is about the last one.
func chooseBase(format string, now time.Time) (base, notes string, err error) {
	if !strings.Contains(format, "%") {
		notes, err = tryBase(format)
		return format, notes, err
	}
	first := string(strftime.Append(nil, format, now.Local()))
	base = first
	for n := 0; ; n++ {
		var note string
		note, err = tryBase(base)
		notes += note
		if err == nil || n == maxBases-1 {
			return base, notes, err
		}
		base = fmt.Sprintf("%s-%02d", first, n)
	}
}

// baseHint returns advice on a base name that an archive cannot have.
func baseHint(base string, err error) string {
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Sprintf("there is an archive %s already: choose another name, or begin an archive each day with --daily and a directory", base)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no directory %s: make it, or choose another place for the archive", filepath.Dir(base))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("this user may not write to %s: choose another place for the archive", filepath.Dir(base))
	}
	return ""
}

// tryBase checks whether an archive can have a name.
func tryBase(base string) (note string, err error) {
	for _, suffix := range []string{".index", ".meta", ".0"} {
		if _, err := os.Lstat(base + suffix); err == nil {
			return fmt.Sprintf("__pmLogNewFile: \"%s%s\" already exists, not over-written\n", base, suffix), pdu.FromError(fs.ErrExist)
		}
	}
	f, err := os.OpenFile(base+".index", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Sprintf("__pmLogNewFile: failed to create \"%s.index\": %v\n", base, pdu.FromError(err)), pdu.FromError(err)
	}
	return "", errors.Join(f.Close(), os.Remove(base+".index"))
}
