// Package launch replaces this program by another one.
package launch

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Beside returns the path of a program in the directory of this one, or "" if it does not exist.
func Beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return In(filepath.Dir(self), name)
}

// In returns the path of a program in a directory, or "" if it does not exist.
func In(dir, name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return ""
	}
	return InPath(path)
}

// InPath returns the path of a program in a directory of PATH, or "" if it does not exist.
func InPath(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}
