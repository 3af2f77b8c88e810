package pmdammv

import "fmt"

// limits bound the memory and the descriptors that the files of a directory may take. They count
// files that are served.
type limits struct {
	files     int   // in the directory
	fileBytes int64 // in a file; package mmv reads at most 256 MiB
	bytes     int64 // in all files
	metrics   int   // in all files
	open      int   // files that are kept open; the others are opened whenever they are read
}

// defaultLimits are far above what a host has and far below what hurts it. A file above a limit is
// not served, which is logged.
var defaultLimits = limits{
	files:     10_000,
	fileBytes: 64 << 20,
	bytes:     512 << 20,
	metrics:   1 << 20,
	open:      2048,
}

// openShare is the part of the descriptors that the process may have which the files take at most.
const openShare = 4

// ownerShare is the part of limits that the files of one owner may take: 1/2. It does not hold for
// root and for the user of this process.
const ownerShare = 2

// A usage is what files take of the limits.
type usage struct {
	files   int
	bytes   int64
	metrics int
}

// add adds a file.
func (u usage) add(size int64, metrics int) usage {
	return usage{u.files + 1, u.bytes + size, u.metrics + metrics}
}

// remove takes a file away.
func (u usage) remove(size int64, metrics int) usage {
	return usage{u.files - 1, u.bytes - size, u.metrics - metrics}
}

// check is an error if u exceeds 1/part of the limits.
func (u usage) check(l *limits, part int, of string) error {
	switch {
	case u.files > l.files/part:
		return fmt.Errorf("too many MMV files%s, limit %d", of, l.files/part)
	case u.bytes > l.bytes/int64(part):
		return fmt.Errorf("all files together%s would have more than %d bytes", of, l.bytes/int64(part))
	case u.metrics > l.metrics/part:
		return fmt.Errorf("too many metrics in all files%s, limit %d", of, l.metrics/part)
	}
	return nil
}

// anyOwner is the owner of files without a share.
const anyOwner = -1

// ownerShown is in messages about a share.
const ownerShown = " of one owner"
