package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledgerhook/bench/stage"
)

// crowd is a client of n connections.
func crowd(n int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConns: n, MaxIdleConnsPerHost: n}, Timeout: time.Minute}
}

// again does something n times at once, each of them again and again, a second
// after it has ended, until end. It returns when each has done it once.
func again(s *scene, n int, end <-chan struct{}, do func(turn int)) {
	var first sync.WaitGroup
	for turn := range n {
		first.Add(1)
		go func() {
			do(turn)
			first.Done()
			for {
				select {
				case <-time.After(time.Second):
					do(turn)
				case <-end:
					return
				case <-s.Context().Done():
					return
				}
			}
		}()
	}
	first.Wait()
}

// signIns tries to sign in at the portal over 1,000 connections, without an
// account.
func signIns(s *scene, end <-chan struct{}) {
	const connections = 1000
	client := crowd(connections)
	s.Cleanup(client.CloseIdleConnections)
	again(s, connections, end, func(turn int) {
		resp, err := client.PostForm(s.api().Public+"/portal/login", url.Values{"username": {"user" + strconv.Itoa(turn)}, "password": {"guess"}})
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

// streams lets one operator's browser listen to 600 lists at once.
func streams(s *scene, end <-chan struct{}) {
	const lists = 600
	internal, _ := s.api().Reach()
	client := crowd(lists)
	client.Timeout = 0
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	client.Jar = jar
	resp, err := client.PostForm(internal+"/ops/login", url.Values{"username": {"admin"}, "password": {stage.TestPassword}})
	if err != nil {
		s.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	if _ = resp.Body.Close(); err != nil || !strings.Contains(string(page), "/ops/logout") {
		s.Fatalf("nobody is signed in: %s (%v)", resp.Status, err)
	}
	var open sync.Map
	s.Cleanup(func() { open.Range(func(_, body any) bool { _ = body.(io.Closer).Close(); return true }) })
	again(s, lists, end, func(turn int) {
		if _, listens := open.Load(turn); listens {
			return
		}
		resp, err := client.Get(internal + "/ops/deliveries/live?q=" + url.QueryEscape("ref:"+strconv.Itoa(turn)))
		switch {
		case err != nil:
		case resp.StatusCode == http.StatusOK:
			open.Store(turn, resp.Body)
		default:
			_ = resp.Body.Close()
		}
	})
}
