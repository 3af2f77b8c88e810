package archive

// SharedFiles is how many unpacked files are in use.
func SharedFiles() int {
	shared.Lock()
	defer shared.Unlock()
	return len(shared.files)
}
