package push

import (
	"cmp"
	"time"
)

// Fixed limits. The first three are those of pmproxy 7. The numbers after colons are HTTP statuses.
const (
	maxRecord  = 10 << 20 // bytes of a record: 400, and of a request with records: 500
	maxBody    = 64 << 20 // bytes of any request: 400
	maxVolume  = 5000     // volume numbers are smaller: 500
	maxLogged  = 100      // bytes of a client's text in the log, such as a user name or a path
	maxHost    = 255      // bytes of a host name, which is that of a directory
	maxURL     = 8 << 10
	maxStates  = 1 << 20  // files in stateDir that are read
	maxState   = 16 << 10 // bytes of one of them
	readBuffer = 64 << 10

	sweepEvery  = 2 * time.Second  // look for idle archives
	syncEvery   = 10 * time.Second // flush files to the disk
	heldTimeout = time.Minute      // drop an incomplete record after so long without a request
	recountWait = 10 * time.Minute // measure the directory
)

// Limits bounds the resources that clients of a Receiver may use. A zero field has its default. A
// client is a user, or an address for clients without a login; all clients of a unix socket without
// a login are one. The comment of a field says which HTTP status a request over the limit gets.
type Limits struct {
	// MaxArchives limits the archives being received from all clients, by default to 1000; the
	// status is 503. MaxArchivesPerClient limits those from one client, by default to 100; the
	// status is 429.
	MaxArchives, MaxArchivesPerClient int
	// MaxArchiveBytes limits one archive, by default to 16 GiB, MaxClientBytes all stored archives
	// of one client, by default to 64 GiB, and MaxBytes the directory, by default to 256 GiB. The
	// status is 507. Within ten minutes the Receiver notices files that were removed or compressed.
	MaxArchiveBytes, MaxClientBytes, MaxBytes int64
	// Timeout is how long an archive may be without a request before the Receiver ends it; 0 means
	// ten minutes. A sender may set another time, with the parameter polltimeout of the label. The
	// Receiver also waits three times the longest pause of the archive so far, but at most a day.
	Timeout time.Duration

	// maxStoredPerClient limits the archives of one client in the directory; status 507.
	maxStoredPerClient int
	// maxHeld and maxHeldPerClient limit the memory for incomplete records of all archives, status
	// 503, and of one client, status 429. Incomplete records are dropped after a minute without a
	// request for their archive.
	maxHeld, maxHeldPerClient int64
	// maxTimeout limits the idle time that a sender requests.
	maxTimeout time.Duration
	// requestTimeout limits how long a request may take to arrive.
	requestTimeout time.Duration
}

// complete returns l with all defaults.
func (l Limits) complete() Limits {
	l.MaxArchives = cmp.Or(l.MaxArchives, 1000)
	l.MaxArchivesPerClient = cmp.Or(l.MaxArchivesPerClient, 100)
	l.MaxArchiveBytes = cmp.Or(l.MaxArchiveBytes, 16<<30)
	l.MaxClientBytes = cmp.Or(l.MaxClientBytes, 64<<30)
	l.MaxBytes = cmp.Or(l.MaxBytes, 256<<30)
	l.Timeout = cmp.Or(l.Timeout, 10*time.Minute)
	l.maxStoredPerClient = cmp.Or(l.maxStoredPerClient, 20_000)
	l.maxHeld = cmp.Or(l.maxHeld, 64<<20)
	l.maxHeldPerClient = cmp.Or(l.maxHeldPerClient, 16<<20)
	l.maxTimeout = cmp.Or(l.maxTimeout, 24*time.Hour)
	l.requestTimeout = cmp.Or(l.requestTimeout, time.Minute)
	return l
}
