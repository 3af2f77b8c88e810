//go:build !unix

package simple

import (
	"errors"
	"time"
)

// cpuTimes are the processor times of a process.
type cpuTimes struct{ user, sys time.Duration }

func cpuTimesNow() (cpuTimes, error) { return cpuTimes{}, errors.ErrUnsupported }
