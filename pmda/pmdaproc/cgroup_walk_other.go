//go:build !linux

package pmdaproc

import "os"

// openFile opens a file by a path that ends with a NUL.
func openFile(path []byte) (file, error) {
	f, err := os.Open(string(path[:len(path)-1]))
	return file{f}, err
}

// list adds the directories in the one where the walk is. It is false if there is no such one.
func (w *cgroupWalk) list() bool {
	list, err := os.ReadDir(string(w.path))
	for _, e := range list {
		if e.IsDir() {
			w.add([]byte(e.Name()))
		}
	}
	return err == nil
}
