package pcptest

import (
	"fmt"
	"testing"
	"testing/synctest"
)

func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		wrong int // how often
		want  string
		calls int
	}{{0, "", 1}, {1, "", 2}, {4, "", 5}, {9, "error: call 5", 5}} {
		synctest.Test(t, func(t *testing.T) {
			v, calls := &verdict{TB: t}, 0
			Retry(v, func() string {
				if calls++; calls > tt.wrong {
					return ""
				}
				return fmt.Sprint("call ", calls)
			})
			if v.how != tt.want || calls != tt.calls {
				t.Errorf("wrong %d times: %q after %d calls, want %q after %d", tt.wrong, v.how, calls, tt.want, tt.calls)
			}
		})
	}
}
