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

// maxTries is how many base names are tried.
const maxTries = 1000

// createFile makes a file that does not exist.
func createFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// createBase finds a base name that no other session has, and makes a file of that name.
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
// Further loggers of one host have letters in theirs.
func createConfig(dir, session string, h Host) (base string, err error) {
	host := strings.Map(func(r rune) rune {
		if r == '/' || r == filepath.Separator || r == ':' && runtime.GOOS == "windows" {
			return '_' // of the path of a socket; of a port, where files cannot have it
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
