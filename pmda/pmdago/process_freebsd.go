package pmdago

import (
	"errors"
	"time"
)

// maxRSSUnit is the unit of ru_maxrss in bytes.
const maxRSSUnit = 1024

// These would need more than one file or system call.

func startTime() (time.Time, error) { return time.Time{}, errors.ErrUnsupported }

func memory() (resident, size uint64, err error) { return 0, 0, errors.ErrUnsupported }

func openFiles() (uint32, error) { return 0, errors.ErrUnsupported }
