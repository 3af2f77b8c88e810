package export

import "time"

// A Count is a number of messages and of the data points in them.
type Count struct{ Messages, Points uint64 }

// Stats are the counters of an exporter. Read + Found always equals Sent + Dropped + Failed +
// Queued.
type Stats struct {
	Read  Count // made from values that were read
	Found Count // left by an earlier run in the directory of the exporter
	Sent  Count // accepted by the receiver, including rejected points

	// Dropped counts messages without room in the queue, files that could not be read, and messages
	// in memory when the exporter ended.
	Dropped Count

	Failed Count // permanently refused by the receiver, or too long to be sent
	Queued Count // waiting or being sent; after Run, waiting in the directory for the next run

	Rejected   uint64 // points in sent messages that the receiver did not accept
	Retries    uint64 // attempts after a temporary failure
	ReadErrors uint64 // reads that failed because the source was unreachable
}

// BackfillOptions select the part of an archive that an exporter sends, and say what to do about
// refusals and interruptions. The zero value sends the whole archive.
type BackfillOptions struct {
	// From and To limit the times of records, both inclusive. The zero time is the start or the end
	// of the archive.
	From, To time.Time

	// State names a file that remembers how much the receiver has accepted. A later Backfill with
	// the same file, archive, receiver, metrics and From continues after that. The archive may have
	// grown and To may be later. "" means to start from the beginning.
	State string

	// KeepGoing skips messages that the receiver refuses and counts them as failed. Without it the
	// first refusal is an error, and the file of State says that the message is not yet sent.
	KeepGoing bool

	// Progress, if not nil, is called when the receiver has accepted all records up to a time. It
	// must return quickly.
	Progress func(upto time.Time, s Stats)
}
