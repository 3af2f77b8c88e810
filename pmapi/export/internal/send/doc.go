// Package send posts messages with metrics over HTTP, in order. It keeps the messages that the
// receiver cannot accept at the moment, in memory or in a directory. The exporters of otlp and
// remotewrite are built on it: each is an encoder and a Sender.
//
// Sender.Live reads a live source at regular times and sends what an encoder makes of it.
// Sender.Backfill sends the records of an archive.
//
// # Retries
//
// A message is sent again after an error of the connection, after a status that Sender.Retry
// accepts, after a redirect that is not followed, and after a web page with status 2xx. The pause
// begins at one second, doubles up to 30 seconds, and is Shortened at random by up to a half. A
// header Retry-After of the receiver can extend it to at most an hour. Any other status except 2xx
// is a refusal: Live drops the message and counts it as failed, and Backfill ends.
//
// Live retries without end while more messages can follow. After the last read, and in Backfill, an
// absence of two minutes is an error.
//
// # The queue
//
// Messages wait in memory, up to Sender.MaxQueue bytes. Live drops the oldest ones to make room;
// Backfill waits for room. With Sender.Directory the messages are files, which survive the program
// and are sent first by the next one. When its context ends, Live tries for another Sender.Timeout
// to send the messages that wait.
package send
