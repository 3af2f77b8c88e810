// Package send posts messages with metrics over HTTP, in order, and keeps the messages that the
// receiver cannot accept at the moment: in memory or in a directory. Packages otlp and remotewrite
// are built on it. It is for programs that add another protocol.
//
//	s := &send.Sender{
//		Protocol: "influx",
//		Endpoint: "https://metrics.example.com/write",
//		Demanded: http.Header{"Content-Type": {"text/plain"}},
//		Retry:    func(status int, _ string) bool { return status == 429 || status >= 500 },
//	}
//	return s.Live(ctx, &send.Poll{
//		Reader:   &export.Reader{Context: c, Names: []string{"kernel"}},
//		Interval: 10 * time.Second,
//		Take: func(snap *export.Snapshot) {
//			body, points := encode(snap)
//			s.Put(send.Message{Body: body, Points: points})
//		},
//	})
//
// # Send messages from another source
//
// A program that does not read a live source calls Open, starts Run in a goroutine, adds messages
// with Put or PutWait, and calls Close after the last one. Run returns when all have been sent.
//
// # Retries
//
// A message is sent again after an error of the connection, after a status that Retry accepts,
// after a redirect that is not followed, and after a web page with status 2xx. The pause begins at
// one second, doubles up to 30 seconds, and is shortened at random by up to a half. A header
// Retry-After of the receiver can extend it to at most an hour. Any other status except 2xx is a
// refusal: the message is dropped and counted as failed. With Sender.Strict, Run ends at the first
// refusal.
//
// Run retries without end while further messages can follow from a live source. After Close, and
// while PutWait adds messages, it ends with an error when the receiver has been away for two
// minutes.
//
// # Redirects
//
// A redirect with status 307 or 308 to the same host and port is followed with the body. To allow
// other hosts, set Sender.Client to a client with another CheckRedirect.
//
// # The queue
//
// Messages wait in memory, up to Sender.MaxQueue bytes. Put drops the oldest ones to make room;
// PutWait waits for room. With Sender.Directory the messages are files, which survive the program
// and are sent first by the next one. When its context ends, Run tries for another Sender.Timeout
// to send the messages that wait.
//
// # Counts
//
// Sender.Stats counts messages and points. At all times Read + Found equals Sent + Dropped + Failed
// + Queued.
//
// # Certificates
//
// TLS makes an http.Client that trusts given authorities and has a certificate.
package send
