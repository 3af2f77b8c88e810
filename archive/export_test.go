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

// The type words of metadata records.
const (
	TypeDesc       = typeDesc
	TypeInDomV2    = typeInDomV2
	TypeLabelsV2   = typeLabelsV2
	TypeText       = typeText
	TypeInDom      = typeInDom
	TypeInDomDelta = typeInDomDelta
	TypeLabels     = typeLabels
)

// Base returns the base name of the archive.
func (w *Writer) Base() string { return w.base }

// Delta reports whether the record of state i contains only changes.
func (d *InDom) Delta(i int) bool { return d.states.dated[i].state.delta }
