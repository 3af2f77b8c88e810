package push

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"
)

// A failure is an error with the status of its reply.
type failure struct {
	status int
	reason string
}

func (f *failure) Error() string { return f.reason }

func badRequest(format string, args ...any) error {
	return &failure{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

var (
	errGone         = &failure{http.StatusGone, "unknown archive, or timed out"}
	errClosed       = &failure{http.StatusServiceUnavailable, "receiver is closed"}
	errBusy         = &failure{http.StatusServiceUnavailable, "archive is busy with another request"}
	errHeld         = &failure{http.StatusServiceUnavailable, "MaxHeld: too many records that have not come to their end"}
	errHeldByClient = &failure{http.StatusTooManyRequests, "MaxHeldPerClient: too many records of one client that have not come to their end"}
	errStored       = &failure{http.StatusInsufficientStorage, "MaxStoredPerClient: too many archives of one client in the directory"}
	errArchives     = &failure{http.StatusServiceUnavailable, "MaxArchives: too many archives"}
	errClient       = &failure{http.StatusTooManyRequests, "MaxArchivesPerClient: too many archives of one client"}
	errTooLong      = &failure{http.StatusBadRequest, "request of more than 64 MiB"}
	errRecord       = &failure{http.StatusInternalServerError, "request with records of 10 MiB or more"}
)

func overQuota(limit string) error {
	return &failure{http.StatusInsufficientStorage, limit + ": too many bytes"}
}

// status returns the HTTP status of the reply to a request that failed with err.
func status(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.status
	}
	if errors.Is(err, syscall.ENOSPC) {
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}
