package tool

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

func TestLoadZone(t *testing.T) {
	winter := time.Date(2024, time.January, 15, 12, 0, 0, 0, time.UTC)
	summer := time.Date(2024, time.July, 15, 12, 0, 0, 0, time.UTC)
	tests := []struct{ tz, winter, summer string }{
		{"", "12:00", "12:00"},
		{"UTC", "12:00", "12:00"},
		{"UTC+0", "12:00", "12:00"},
		{"EST5EDT", "07:00", "08:00"},
		{"XST5XDT", "07:00", "08:00"},
		{"AEST-10", "22:00", "22:00"},
		{"AEST-10AEDT,M10.1.0,M4.1.0/3", "23:00", "22:00"},
		{"<+0330>-3:30", "15:30", "15:30"},
		{"CET-1CEST,M3.5.0,M10.5.0/3", "13:00", "14:00"},
		{":Europe/Berlin", "13:00", "14:00"},
		{"Asia/Kolkata", "17:30", "17:30"},
		{"foo", "12:00", "12:00"},
		{"Local", "12:00", "12:00"},
		{"/nosuch", "12:00", "12:00"},
		{"/dev/zero", "12:00", "12:00"},
		{"../etc/passwd", "12:00", "12:00"},
		{"CET-1CEST,nonsense", "12:00", "12:00"},
		{"X5\nY6", "12:00", "12:00"},
	}
	for _, tt := range tests {
		loc := LoadZone(tt.tz)
		got := []string{winter.In(loc).Format("15:04"), summer.In(loc).Format("15:04")}
		if diff := cmp.Diff([]string{tt.winter, tt.summer}, got); diff != "" {
			t.Errorf("TZ=%q (-want +got):\n%s", tt.tz, diff)
		}
	}
}

func TestLocalZone(t *testing.T) {
	t.Setenv("TZ", "AEST-10")
	if got := time.Unix(0, 0).In(LocalZone()).Hour(); got != 10 {
		t.Errorf("the epoch in TZ=AEST-10: got hour %d, want 10", got)
	}
}

// TestInteropZone compares times with those of date(1), in steps of a day and around changes to and
// from daylight saving. It leaves out years before 1970: see TestZonesBefore1970.
func TestInteropZone(t *testing.T) {
	pcptest.Need(t, "date")
	_, err := os.Stat("/usr/share/zoneinfo/Europe/Berlin")
	hasZones := err == nil
	var seconds []int64
	for day := int64(1); day < 25000; day += 11 {
		seconds = append(seconds, day*86400+day*977%86400)
	}
	for _, change := range []int64{1710054000, 1710658800, 1711846800, 1712419200, 1728144000, 1729990800, 1730610000, 1767225600} {
		for h := int64(-72); h <= 72; h++ {
			seconds = append(seconds, change+h*1800-1, change+h*1800)
		}
	}
	var input strings.Builder
	for _, s := range seconds {
		fmt.Fprintf(&input, "@%d\n", s)
	}
	for _, tz := range []string{"", "UTC", "EST5EDT", "XST5XDT,M3.2.0,M11.1.0", "XST5XDT4:30,M3.2.0/0,M11.1.0/167", "AEST-10", "AEST-10AEDT,M10.1.0,M4.1.0/3",
		"CET-1CEST,M3.5.0/2,M10.5.0/3", ":Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
		"IST-2IDT,M3.4.4/26,M10.5.0", "X3Y,J60/0,J300/24", "X-3:15:30Y,59,299/1:30", "foo", "foo3", "+3", "Local", "UTC+0",
		"/usr/share/zoneinfo/America/New_York", "Nosuch/Zone", "X5Y,M3.2.0,", "X5Y,nonsense"} {
		if strings.Contains(tz, "/") && !strings.Contains(tz, ",") && !hasZones {
			continue // Go embeds a zone database, date(1) does not
		}
		stdout, stderr, status := pcptest.Run(t, []string{"TZ=" + tz}, input.String(), "date", "-f", "-", "+%Y-%m-%d %H:%M:%S")
		if status != 0 {
			t.Fatalf("date: status %d, %s", status, stderr)
		}
		lines := strings.Split(stdout, "\n")
		loc := LoadZone(tz)
		differences := 0
		for i, s := range seconds {
			if got := time.Unix(s, 0).In(loc).Format(time.DateTime); got != lines[i] {
				if differences++; differences <= 3 {
					t.Errorf("TZ=%q, second %d: got %s, date says %s", tz, s, got, lines[i])
				}
			}
		}
	}
}

// TestZonesBefore1970: as in the GNU C library, the offset of the first day of 1970 holds all year.
func TestZonesBefore1970(t *testing.T) {
	const north, south = "XST5XDT,M3.2.0,M11.1.0", "YDT-9:30YST,M11.1.0,M3.2.0"
	for _, tt := range []struct {
		tz   string
		at   int64
		want string
	}{
		{south, -300000000, "1960-06-30 05:10:00 YST"},
		{south, -1, "1970-01-01 10:29:59 YST"},
		{south, 15000000, "1970-06-24 00:10:00 YDT"},
		{south, -50784080000, "0360-09-19 17:36:40 YST"},
		{north, -300000000, "1960-06-29 13:40:00 XST"},
		{north, 1, "1969-12-31 19:00:01 XST"},
		{north, 15000000, "1970-06-23 10:40:00 XDT"},
		{"EST5", -300000000, "1960-06-29 13:40:00 EST"},
	} {
		if got := time.Unix(tt.at, 0).In(LoadZone(tt.tz)).Format("2006-01-02 15:04:05 MST"); got != tt.want {
			t.Errorf("%s, %d: %s, want %s", tt.tz, tt.at, got, tt.want)
		}
	}
}
