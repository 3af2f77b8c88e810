package send_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/send"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// An exporter for another protocol: lines of text with a name and a value.
func ExampleSender_Live() {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("%s: %s", r.Header.Get("Content-Type"), body)
	}))
	defer receiver.Close()
	src := &pmapitest.Source{}
	defer src.Close()
	pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "kernel.all.nprocs"}).Set(211)

	s := &send.Sender{
		Protocol: "lines",
		Endpoint: receiver.URL,
		Demanded: http.Header{"Content-Type": {"text/plain"}},
		Retry:    func(status int, _ string) bool { return status == 429 || status >= 500 },
	}
	err := s.Live(context.Background(), &send.Poll{
		Reader:  &export.Reader{Context: src.Context()},
		Samples: 1,
		Take: func(snap *export.Snapshot) {
			var m send.Message
			for metric, values := range snap.All() {
				for _, v := range values.All(metric.Desc.Type) {
					m.Body = fmt.Appendln(m.Body, metric.Name, v)
					m.Points++
				}
			}
			s.Put(m)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sent:", s.Stats().Sent)
	// Output:
	// text/plain: kernel.all.nprocs 211
	// sent: {1 1}
}
