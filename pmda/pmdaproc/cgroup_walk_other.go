//go:build !linux

package pmdaproc

import "os"

// openFile opens a file. path ends with a NUL.
func openFile(path []byte) (file, error) {
	f, err := os.Open(string(path[:len(path)-1]))
	return file{f}, err
}

// list adds the directories in the current directory of the walk. It returns false if that does not
// exist.
func (w *cgroupWalk) list() bool {
	list, err := os.ReadDir(string(w.path))
	for _, e := range list {
		if e.IsDir() {
			w.add([]byte(e.Name()))
		}
	}
	return err == nil
}
