package archive

// SharedFiles is how many unpacked files are in use.
func SharedFiles() int {
	shared.Lock()
	defer shared.Unlock()
	return len(shared.files)
}

// Held is how many instances the states have that are kept.
func (d *InDom) Held() (n int) {
	for _, state := range d.made {
		n += len(state)
	}
	return n
}

// MaxOpenFiles is how many files a set keeps open.
const MaxOpenFiles = maxOpenFiles
