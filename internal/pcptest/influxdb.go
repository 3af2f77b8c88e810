package pcptest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
)

// An InfluxDB is a running InfluxDB 1 with a database.
type InfluxDB struct {
	*Process
	addr string
}

const influxDatabase = "pcp"

// StartInfluxDB runs InfluxDB. Without it the test is skipped.
func StartInfluxDB(t testing.TB) *InfluxDB {
	t.Helper()
	program, dir := Optional(t, "influxd"), t.TempDir()
	addr := "127.0.0.1:" + strconv.Itoa(FreePort(t))
	d := &InfluxDB{Start(t, Daemon{Path: program, Addr: addr, Env: []string{
		"INFLUXDB_META_DIR=" + filepath.Join(dir, "meta"), "INFLUXDB_DATA_DIR=" + filepath.Join(dir, "data"),
		"INFLUXDB_DATA_WAL_DIR=" + filepath.Join(dir, "wal"), "INFLUXDB_HTTP_BIND_ADDRESS=" + addr,
		"INFLUXDB_BIND_ADDRESS=127.0.0.1:" + strconv.Itoa(FreePort(t)), "INFLUXDB_REPORTING_DISABLED=true",
	}}), addr}
	d.Query(t, "CREATE DATABASE "+influxDatabase)
	return d
}

// RemoteWriteURL is where InfluxDB receives remote write.
func (d *InfluxDB) RemoteWriteURL() string {
	return "http://" + d.addr + "/api/v1/prom/write?db=" + influxDatabase
}

// Query returns the rows that a statement finds, without their times.
func (d *InfluxDB) Query(t testing.TB, statement string) (rows [][]any) {
	t.Helper()
	r, err := http.PostForm("http://"+d.addr+"/query?db="+influxDatabase, url.Values{"q": {statement}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Results []struct {
			Error  string
			Series []struct{ Values [][]any }
		}
	}
	if err := json.Unmarshal(text, &reply); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v: %s", statement, r.StatusCode, err, text)
	}
	for _, result := range reply.Results {
		if result.Error != "" {
			t.Fatalf("%s: %s", statement, result.Error)
		}
		for _, series := range result.Series {
			for _, row := range series.Values {
				rows = append(rows, row[1:])
			}
		}
	}
	return rows
}
