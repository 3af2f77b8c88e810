package logger

import (
	"time"

	"github.com/pcp-go/pcp/archive"
)

// A volumeState decides when the next volume begins.
type volumeState struct {
	bytes   int64 // limits of a volume; 0 means no limit
	records int
	time    time.Duration

	begin  time.Time // of the current volume
	count  int       // how many tasks it has recorded
	before int64     // bytes of the volumes before it
	number int
	size   int64 // bytes of the volume number; the Writer may have begun the next one
}

// due returns when the current volume ends, or the zero time without a time limit.
func (v *volumeState) due() time.Time {
	if v.time <= 0 || v.begin.IsZero() {
		return time.Time{}
	}
	return v.begin.Add(v.time)
}

// total returns the bytes of all volumes.
func (v *volumeState) total(w *archive.Writer) int64 {
	if w.Label().Volume != v.number {
		return v.before + v.size + w.Size()
	}
	return v.before + w.Size()
}

// newVolume begins a volume and returns its number. If it fails, the next record tries again and
// returns the error. Without a record, the current volume stays.
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

// noteVolume notes the number and size of the current volume.
func (l *Logger) noteVolume() {
	v := &l.volume
	if n := l.w.Label().Volume; n != v.number {
		v.before += v.size
		v.number = n
	}
	v.size = l.w.Size()
}

// recorded counts a task that was recorded, with one or more records, and begins another volume if
// this one is full.
func (l *Logger) recorded() {
	v := &l.volume
	l.records++
	v.count++
	switch {
	case l.fullEnd() != nil: // the logger ends, so another volume would stay empty
	case v.records > 0 && v.count >= v.records:
		l.newVolume("sample counter")
	case v.bytes > 0 && v.size >= v.bytes:
		l.newVolume("sample byte size")
	}
}
