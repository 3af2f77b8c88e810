package archive

// SharedFiles returns the number of unpacked files in use.
func SharedFiles() int {
	shared.Lock()
	defer shared.Unlock()
	return len(shared.files)
}

// Held returns the number of instances in the states that d keeps.
func (d *InDom) Held() (n int) {
	for _, state := range d.made {
		n += len(state)
	}
	return n
}

// MaxOpenFiles is the number of files that a set keeps open.
const MaxOpenFiles = maxOpenFiles
