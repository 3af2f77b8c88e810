package mmv

import (
	"bytes"
	"time"
)

// grow adds new registrations to the image, if the registry has one: in place if they fit,
// otherwise in a new image. Values that fit into neither stay in separate memory. The caller
// holds r.mu.
func (r *Registry) grow() {
	im := r.image.Load()
	if im == nil {
		return
	}
	r.watch()
	f := &r.file
	if f.dir != "" && !f.lost && f.info == nil && r.replaceFile(false) {
		return
	}
	if !r.stale && im.version >= r.fileVersion() {
		if n := r.need(im, im.version); im.fits(n) {
			if n.any() {
				im.append(r)
			}
			return
		}
	}
	if f.info != nil {
		r.replaceFile(false) // if it fails, an old file is better than none
	} else {
		r.replaceHeap(false)
	}
}

// fileVersion is the version of new images.
func (r *Registry) fileVersion() Version { return max(r.version, r.Version) }

// append adds records to the image in place.
func (im *image) append(r *Registry) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.fill(r, im.place(r, false))
}

// fill moves values to their places in the image and makes it valid.
func (im *image) fill(r *Registry, placements []placement) {
	olds := move(placements)
	im.show()
	settle(placements, olds)
	im.setGeneration(r.generation())
}

// move gives values their places and returns the old ones.
func move(placements []placement) (olds []*slot) {
	olds = make([]*slot, len(placements))
	for i, p := range placements {
		olds[i] = p.cell.move(p.to)
	}
	return olds
}

// settle adds to the new places what updates have meanwhile added to the old ones.
func settle(placements []placement, olds []*slot) {
	for i, p := range placements {
		p.cell.settle(olds[i])
	}
}

// generation is a new number for the contents of an image.
func (r *Registry) generation() uint64 {
	now := time.Now()
	g := uint64(now.Unix())<<32 | uint64(now.Nanosecond()/1000)
	r.last = max(g, r.last+1)
	return r.last
}

// build returns an image with all records, in memory from alloc. The caller moves the values to it.
// An exact image has no spare room.
func (r *Registry) build(exact bool, alloc func(size int) ([]uint64, error)) (*image, []placement, error) {
	v := r.fileVersion()
	n := r.need(nil, v)
	if !exact {
		n.spare()
	}
	im, err := newImage(v, n, alloc)
	if err != nil {
		return nil, nil, err
	}
	r.putHeader(im)
	return im, im.place(r, exact), nil
}

// Source updates the values, as OnRead says, and returns the memory that has them, in the format
// of an MMV file. An agent in this process calls it at the beginning of each fetch. If it returns
// another Source than before, or its File has Changed, the agent must read the metadata again. An
// earlier Source can still be read, but its File has Changed. An empty Source, which Read refuses,
// means that the metrics take more than 256 MiB.
func (r *Registry) Source() Source {
	r.mu.Lock()
	r.log.on = true
	if r.image.Load() == nil {
		r.start()
		r.replaceHeap(true)
	}
	r.unlock()
	r.read()
	if im := r.image.Load(); im != nil {
		return im
	}
	return new(bytes.Reader)
}
