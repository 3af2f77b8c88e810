package logger

// Events that tests select by type.
type (
	ReceiverLost     = receiverLost
	ReceiverRestored = receiverRestored
	PushFull         = pushFull
	PushLeftOut      = pushLeftOut
)
