package send

// A Count is a number of messages, and of the data points in them.
type Count struct{ Messages, Points uint64 }

func (c *Count) add(points int) {
	c.Messages++
	c.Points += uint64(points)
}

// Stats are counters. At all times Read + Found is Sent + Dropped + Failed + Queued.
type Stats struct {
	Read    Count // made of what was read
	Found   Count // of an earlier run, in the directory
	Sent    Count // taken by the receiver, rejected points among them
	Dropped Count // that found no room in the queue, could not be read again, or were in memory when Run ended
	Failed  Count // refused by the receiver for good, or too long to be sent
	Queued  Count // waiting, or being sent; after Run, those that wait in the directory for the next run

	Rejected   uint64 // points in messages that were sent, which the receiver did not take
	Retries    uint64 // attempts after one that has failed for a time
	ReadErrors uint64 // intervals without values, since the source was away

	sending Count
}
