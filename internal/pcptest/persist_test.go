package pcptest

import (
	"fmt"
	"testing"
	"testing/synctest"
)

func (v *verdict) Error(args ...any) { v.how = "error: " + fmt.Sprint(args...) }

func TestPersist(t *testing.T) {
	for _, tt := range []struct {
		wrong int // how often
		want  string
		looks int
	}{{0, "", 1}, {1, "", 2}, {4, "", 5}, {9, "error: look 5", 5}} {
		synctest.Test(t, func(t *testing.T) {
			v, looks := &verdict{TB: t}, 0
			Persist(v, func() string {
				if looks++; looks > tt.wrong {
					return ""
				}
				return fmt.Sprint("look ", looks)
			})
			if v.how != tt.want || looks != tt.looks {
				t.Errorf("wrong %d times: %q after %d looks, want %q after %d", tt.wrong, v.how, looks, tt.want, tt.looks)
			}
		})
	}
}
