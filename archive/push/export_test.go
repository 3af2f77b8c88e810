package push

import "time"

const SettleTime = settleTime

// Limits that only tests change.

func (l Limits) WithStored(perClient int) Limits {
	l.maxStoredPerClient = perClient
	return l
}

func (l Limits) WithHeld(all, perClient int64) Limits {
	l.maxHeld, l.maxHeldPerClient = all, perClient
	return l
}

func (l Limits) WithRequestTimeout(d time.Duration) Limits {
	l.requestTimeout = d
	return l
}
