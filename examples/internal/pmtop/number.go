package pmtop

import (
	"math"
	"strconv"
	"time"
)

// missing stands for a missing value.
const missing = "-"

// count formats a number with at most 7 characters.
func count(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return missing
	case a == 0:
		return "0"
	case a < 0.005:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case a < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a < 100000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return scaled(v, 1000, "kMGTPEZ")
}

// whole formats a count, without decimals if it is a whole number.
func whole(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e7 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return count(v)
}

// size formats a number of bytes: 512, 1.5K, 23.4G.
func size(v float64) string {
	if math.IsNaN(v) {
		return missing
	}
	if math.Abs(v) < 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return scaled(v, 1024, "KMGTPEZ")
}

// scaled formats a number with about three digits, divided by a power of base. letters has the
// letters of the powers.
func scaled(v, base float64, letters string) string {
	i := -1
	for i+1 < len(letters) && math.Abs(v) >= 999.5 {
		v /= base
		i++
	}
	if i < 0 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	digits := 1
	if math.Abs(v) >= 99.95 {
		digits = 0
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + letters[i:i+1]
}

// percent formats a percentage with one decimal.
func percent(v float64) string {
	if math.IsNaN(v) {
		return missing
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// elapsed formats a duration: 3 days 04:20, or 04:20.
func elapsed(d time.Duration) string {
	minutes := int(d / time.Minute)
	clock := two(minutes/60%24) + ":" + two(minutes%60)
	switch days := minutes / (24 * 60); days {
	case 0:
		return clock
	case 1:
		return "1 day " + clock
	default:
		return strconv.Itoa(days) + " days " + clock
	}
}

func two(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
