package record

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxTries is the maximum number of base names to try.
const maxTries = 1000

// createFile creates a file, which must not exist.
func createFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// createBase creates a file with a new random name and returns the name, for use as a base name.
func createBase(dir string) (base string, f *os.File, err error) {
	for range maxTries {
		base = rand.Text()[:6]
		if f, err = createFile(filepath.Join(dir, base)); err == nil || !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return base, f, err
}

// createConfig writes the configuration of a host and returns the base name of the host's files.
// Base names of further loggers of one host have a letter.
func createConfig(dir, session string, h Host) (base string, err error) {
	host := strings.Map(func(r rune) rune {
		if r == '/' || r == filepath.Separator || r == ':' && runtime.GOOS == "windows" {
			return '_' // in the path of a socket, or before a port on Windows
		}
		return r
	}, h.Name)
	var f *os.File
	for _, letter := range append([]string{""}, strings.Split("abcdefghijklmnopqrstuvwxyz", "")...) {
		base = session + letter + "." + host
		if f, err = createFile(filepath.Join(dir, base+".config")); err == nil || !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(h.Config)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
	}
	return base, err
}
