package main

import (
	"io"
	"net/http"
	"os"
	"strings"
)

// lines is a receiver that prints the messages that it gets.
type lines struct{}

func printer() *http.Client { return &http.Client{Transport: lines{}} }

func (lines) RoundTrip(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	if _, err := io.Copy(os.Stdout, io.MultiReader(req.Body, strings.NewReader("\n"))); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}
