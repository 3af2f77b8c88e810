package logcheck

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/internal/terminal"
)

// compressions are the suffixes of compressed files.
var compressions = []string{".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"}

func trimCompression(name string) string {
	for _, suffix := range compressions {
		if trimmed, ok := strings.CutSuffix(name, suffix); ok {
			return trimmed
		}
	}
	return name
}

// baseName returns the name of the archive of a file. ok is false for a name that is not that of an
// archive's file. part is "meta", "index" or the number of a volume.
func baseName(name string) (base, part string, ok bool) {
	name = trimCompression(name)
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return name, "", false
	}
	base, part = name[:i], name[i+1:]
	if part != "meta" && part != "index" {
		if _, err := strconv.Atoi(part); err != nil {
			return name, "", false
		}
	}
	return base, part, true
}

// archiveName returns the name of the archive of an argument, which is that name or a file of the
// archive.
func archiveName(arg string) string {
	base, part, ok := baseName(arg)
	if ok && part != "meta" && part != "index" && !exists(arg) {
		return trimCompression(arg) // not a volume
	}
	return base
}

// exists reports whether a file exists, compressed or not.
func exists(path string) bool {
	return slices.ContainsFunc(append([]string{""}, compressions...), func(suffix string) bool {
		_, err := os.Stat(path + suffix)
		return err == nil
	})
}

// findFiles finds the files of the archive that the argument selects.
func (k *checker) findFiles(arg string) error {
	k.trace("Scanning for components of archive \"%s\"\n", terminal.EscapeName(arg))
	k.arg, k.base = arg, archiveName(arg)
	dir, name := filepath.Split(k.base)
	if dir == "./" {
		dir = ""
	}
	k.base = dir + name
	entries, err := directory(cmp.Or(dir, "."))
	if k.Verbose > 2 && err == nil {
		k.printf("archbasename=\"%s\" len=%d\n", terminal.EscapeName(name), len(name))
	}
	for _, entry := range entries {
		why := notOf(name, entry)
		if k.Verbose > 2 {
			if why == "" {
				k.printf("d_name=\"%s\"? yes\n", terminal.EscapeName(entry))
			} else {
				k.printf("d_name=\"%s\"? no (%s)\n", terminal.EscapeName(entry), why)
			}
		}
		if why == "" {
			k.paths = append(k.paths, dir+entry)
		}
	}
	if len(k.paths) == 0 {
		message := fmt.Sprintf("pmlogcheck: no PCP archive files match \"%s\"\n", arg)
		return &pcptool.ExitError{Status: 1, Message: message, Err: errors.Join(err, os.ErrNotExist)}
	}
	return nil
}

// directory returns the names in a directory, in the order of the directory.
func directory(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	return append([]string{".", ".."}, names...), err
}

// notOf returns the reason why a file does not belong to an archive, "" if it does.
func notOf(name, file string) string {
	base, part, ok := baseName(file)
	switch {
	case !ok || len(file) <= len(name) || file[len(name)] != '.':
		return "not expected extension after basename"
	case base != name:
		return fmt.Sprintf("first %d chars not matched", len(name))
	case part != "meta" && part != "index" && !scan.IsDigit(part[0]):
		return "non-digit after basename"
	}
	return ""
}
