// Package launch runs another program in the place of this one.
package launch

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Beside is the path of a program in the directory of this one, or "" if it is not there.
func Beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return In(filepath.Dir(self), name)
}

// In is the path of a program in a directory, or "" if it is not there.
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

// InPath is the path of a program in a directory of the environment's PATH, or "" if it is not
// there.
func InPath(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}
