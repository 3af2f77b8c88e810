package push

import (
	"cmp"
	"time"
)

// Defaults of Limits.
const (
	DefaultMaxArchives          = 1000
	DefaultMaxArchivesPerClient = 100
	DefaultMaxStoredPerClient   = 20_000
	DefaultMaxArchiveBytes      = 16 << 30
	DefaultMaxClientBytes       = 64 << 30
	DefaultMaxBytes             = 256 << 30
	DefaultMaxHeld              = 64 << 20
	DefaultMaxHeldPerClient     = 16 << 20
	DefaultTimeout              = 10 * time.Minute
	DefaultMaxTimeout           = 24 * time.Hour
	DefaultRequestTimeout       = time.Minute
)

// Limits that are not to be chosen, as of pmproxy 7.
const (
	maxRecord  = 10 << 20 // bytes of a record, and of a request with records: 500
	maxBody    = 64 << 20 // bytes of any request: 400
	maxVolume  = 5000     // the numbers of volumes are below that: 500
	maxLogged  = 100      // bytes in the log of what a client chooses: the name of a user, a path
	maxHost    = 255      // bytes of a host's name, which is that of a directory
	maxURL     = 8 << 10
	maxStates  = 1 << 20  // files about archives that are read at the start
	maxState   = 16 << 10 // bytes of one of them
	readBuffer = 64 << 10

	sweepEvery  = 2 * time.Second  // looks for archives that are idle
	syncEvery   = 10 * time.Second // what is written goes to the disk
	heldTimeout = time.Minute      // the start of a record is forgotten after so long without a request
	recountWait = 10 * time.Minute // counts the bytes in the directory anew
)

// Limits are what a Receiver grants. A field that is 0 has the default of its name.
type Limits struct {
	// MaxArchives and MaxArchivesPerClient limit the archives that are being received: of all
	// clients, with the status 503 for one more, and of one user or address, with 429.
	MaxArchives, MaxArchivesPerClient int
	// MaxStoredPerClient limits the archives of one user or address that are in the directory: 507.
	MaxStoredPerClient int
	// MaxArchiveBytes, MaxClientBytes and MaxBytes limit the bytes of one archive, of all that one
	// user or address has sent and that are still there, and of the directory: 507. Files that
	// others remove or compress count no longer after ten minutes.
	MaxArchiveBytes, MaxClientBytes, MaxBytes int64
	// MaxHeld and MaxHeldPerClient limit the memory for records that have not come to their end:
	// 503 for those of all archives, and 429 for those of one user or address. Such records are
	// forgotten when their archive has had no request for a minute.
	MaxHeld, MaxHeldPerClient int64
	// Timeout is how long an archive may be idle for which the sender does not say it, and
	// MaxTimeout how long it can ask for. An archive may always be idle for three times as long as
	// it has been before.
	Timeout, MaxTimeout time.Duration
	// RequestTimeout is how long a request may take to arrive.
	RequestTimeout time.Duration
}

// complete is l with all defaults.
func (l Limits) complete() Limits {
	l.MaxArchives = cmp.Or(l.MaxArchives, DefaultMaxArchives)
	l.MaxArchivesPerClient = cmp.Or(l.MaxArchivesPerClient, DefaultMaxArchivesPerClient)
	l.MaxStoredPerClient = cmp.Or(l.MaxStoredPerClient, DefaultMaxStoredPerClient)
	l.MaxArchiveBytes = cmp.Or(l.MaxArchiveBytes, DefaultMaxArchiveBytes)
	l.MaxClientBytes = cmp.Or(l.MaxClientBytes, DefaultMaxClientBytes)
	l.MaxBytes = cmp.Or(l.MaxBytes, DefaultMaxBytes)
	l.MaxHeld = cmp.Or(l.MaxHeld, DefaultMaxHeld)
	l.MaxHeldPerClient = cmp.Or(l.MaxHeldPerClient, DefaultMaxHeldPerClient)
	l.Timeout = cmp.Or(l.Timeout, DefaultTimeout)
	l.MaxTimeout = cmp.Or(l.MaxTimeout, DefaultMaxTimeout)
	l.RequestTimeout = cmp.Or(l.RequestTimeout, DefaultRequestTimeout)
	return l
}
