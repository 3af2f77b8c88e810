package pmdago

import (
	"errors"
	"time"
)

// maxRSSUnit is what getrusage counts ru_maxrss in.
const maxRSSUnit = 1024

// What follows would need more than one file or system call.

func startTime() (time.Time, error) { return time.Time{}, errors.ErrUnsupported }

func memory() (resident, size uint64, err error) { return 0, 0, errors.ErrUnsupported }

func openFiles() (uint32, error) { return 0, errors.ErrUnsupported }
