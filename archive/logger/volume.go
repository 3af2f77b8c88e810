package logger

import (
	"time"

	"github.com/pcp-go/pcp/archive"
)

// A volumeState is when the next volume begins.
type volumeState struct {
	bytes   int64 // limits, 0 for none
	records int
	time    time.Duration

	begin  time.Time // of the present volume
	count  int       // its records of values
	before int64     // bytes in the volumes before it
	number int
	size   int64 // of the volume that ends, while the next one has no record
}

// due is when the present volume ends, the zero time for never.
func (v *volumeState) due() time.Time {
	if v.time <= 0 || v.begin.IsZero() {
		return time.Time{}
	}
	return v.begin.Add(v.time)
}

// total is the bytes of all volumes.
func (v *volumeState) total(w *archive.Writer) int64 {
	if w.Label().Volume != v.number {
		return v.before + v.size + w.Size()
	}
	return v.before + w.Size()
}

// newVolume makes the next record begin a volume.
func (l *Logger) newVolume(reason VolumeReason) int {
	v := &l.volume
	l.w.NewVolume()
	v.begin, v.count = time.Now(), 0
	l.report(NewVolume{Volume: l.w.Label().Volume + 1, Reason: reason, Time: time.Now()})
	return l.w.Label().Volume + 1
}

// noteVolume takes notice of the volume of a record that was written.
func (l *Logger) noteVolume() {
	v := &l.volume
	if n := l.w.Label().Volume; n != v.number {
		v.before += v.size
		v.number = n
	}
	v.size = l.w.Size()
}

// recorded notes that a task was recorded, with one or more records, and ends the volume if it is full.
func (l *Logger) recorded() {
	v := &l.volume
	l.records++
	v.count++
	switch {
	case l.fullEnd() != nil: // there is no record for another volume
	case v.records > 0 && v.count >= v.records:
		l.newVolume(VolumeRecords)
	case v.bytes > 0 && v.size >= v.bytes:
		l.newVolume(VolumeBytes)
	}
}
