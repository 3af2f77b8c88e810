package pmdammv

import "fmt"

// limits limit the memory and the descriptors for the files of a directory. Only files that are
// served count.
type limits struct {
	files     int   // in the directory
	fileBytes int64 // in a file; package mmv reads at most 256 MiB
	bytes     int64 // in all files
	metrics   int   // in all files
	open      int   // files that are kept open; the others are opened whenever they are read
}

// defaultLimits are far above what a host needs and far below what overloads it. A file above a
// limit is not served, which is logged.
var defaultLimits = limits{
	files:     10_000,
	fileBytes: 64 << 20,
	bytes:     512 << 20,
	metrics:   1 << 20,
	open:      2048,
}

// openShare limits the files that are kept open to 1/4 of the process's limit of descriptors.
const openShare = 4

// ownerShare limits the files of one owner to 1/2 of limits. It does not apply to root and the user
// of this process.
const ownerShare = 2

// A usage is the part of the limits that files use.
type usage struct {
	files   int
	bytes   int64
	metrics int
}

// add returns the usage with one more file.
func (u usage) add(size int64, metrics int) usage {
	return usage{u.files + 1, u.bytes + size, u.metrics + metrics}
}

// remove returns the usage with one file less.
func (u usage) remove(size int64, metrics int) usage {
	return usage{u.files - 1, u.bytes - size, u.metrics - metrics}
}

// check returns an error if u exceeds 1/part of the limits.
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

// anyOwner is the owner of files that ownerShare does not limit.
const anyOwner = -1

// ownerShown is a part of messages about ownerShare.
const ownerShown = " of one owner"
