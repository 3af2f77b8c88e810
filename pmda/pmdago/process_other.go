//go:build !(linux || darwin || freebsd || windows)

package pmdago

import (
	"errors"
	"time"
)

// Other systems have no process metrics.

func startTime() (time.Time, error) { return time.Time{}, errors.ErrUnsupported }

func processorTime() (user, system time.Duration, err error) { return 0, 0, errors.ErrUnsupported }

func memory() (resident, size uint64, err error) { return 0, 0, errors.ErrUnsupported }

func maxResident() (uint64, error) { return 0, errors.ErrUnsupported }

func openFiles() (uint32, error) { return 0, errors.ErrUnsupported }

func maxFiles() (uint64, error) { return 0, errors.ErrUnsupported }
