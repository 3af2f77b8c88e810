package send

// A Count is a number of messages and of the data points in them.
type Count struct{ Messages, Points uint64 }

func (c *Count) add(points int) {
	c.Messages++
	c.Points += uint64(points)
}

// Stats are the counters of a Sender. At all times Read + Found equals Sent + Dropped + Failed +
// Queued.
type Stats struct {
	Read  Count // made from values that were read
	Found Count // left by an earlier run in the directory
	Sent  Count // accepted by the receiver, including rejected points

	// Dropped counts messages without room in the queue, files that could not be read, and messages
	// in memory when Run ended.
	Dropped Count

	Failed Count // permanently refused by the receiver, or too long to be sent
	Queued Count // waiting or being sent; after Run, waiting in the directory for the next run

	Rejected   uint64 // points in sent messages that the receiver did not accept
	Retries    uint64 // attempts after a temporary failure
	ReadErrors uint64 // reads that failed because the source was away

	sending Count
}
