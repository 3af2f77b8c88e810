package pmdammv

// limits bound the memory and the descriptors that the files of a directory may take, whoever writes there.
type limits struct {
	files     int   // in the directory, those that are no MMV files included
	fileBytes int64 // in a file; mmv.MaxFile is another limit
	bytes     int64 // in all files
	metrics   int   // in all files
	open      int   // files that are kept open; the others are opened whenever they are read
}

// defaultLimits are far above what a host has and far below what hurts it. A file above a limit is not served, which
// is logged.
var defaultLimits = limits{
	files:     10_000,
	fileBytes: 64 << 20,
	bytes:     512 << 20,
	metrics:   1 << 20,
	open:      2048,
}

// openShare is the part of the descriptors that the process may have which the files take at most.
const openShare = 4
