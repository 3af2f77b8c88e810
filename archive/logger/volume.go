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

// newVolume begins a volume, or makes the next record try that again, whose error counts. Without a
// record, the present volume remains.
func (l *Logger) newVolume(reason string) int {
	v := &l.volume
	if !l.hasRecords() {
		v.begin = time.Now()
		return l.w.Label().Volume
	}
	number := l.w.Label().Volume + 1
	if err := l.w.BeginVolume(); err != nil {
		l.w.NewVolume()
	}
	l.noteVolume()
	v.begin, v.count = time.Now(), 0
	l.report(NewVolume{Volume: number, Reason: reason, Time: time.Now()})
	return number
}

// noteVolume takes notice of the present volume.
func (l *Logger) noteVolume() {
	v := &l.volume
	if n := l.w.Label().Volume; n != v.number {
		v.before += v.size
		v.number = n
	}
	v.size = l.w.Size()
}

// recorded notes that a task was recorded, with one or more records, and ends the volume if it is
// full.
func (l *Logger) recorded() {
	v := &l.volume
	l.records++
	v.count++
	switch {
	case l.fullEnd() != nil: // there is no record for another volume
	case v.records > 0 && v.count >= v.records:
		l.newVolume("sample counter")
	case v.bytes > 0 && v.size >= v.bytes:
		l.newVolume("sample byte size")
	}
}
