// A crawler by hand in Go, with nothing but the standard library; nothing is kept.
//
// It obeys robots.txt, asks each host for one page at a time and keeps a set of known URLs. It ends
// with its own count as JSON. `versus.py` builds it where Go is installed.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

var (
	seed        = flag.String("seed", "", "where to begin")
	within      = flag.String("within", "", "host names end so")
	agent       = flag.String("agent", "gopeer", "the name to ask under")
	most        = flag.Int("pages", 0, "how many pages are enough")
	concurrency = flag.Int("concurrency", 64, "requests in flight")
)

// A host waits in line while it has URLs and nobody asks it for one.
type host struct {
	urls   []string
	robots *rules
}

type crawler struct {
	mu     sync.Mutex
	known  map[string]bool
	hosts  map[string]*host
	line   chan string
	left   int // URLs that are queued or asked for
	pages  int
	done   chan struct{}
	isDone bool
	client *http.Client
}

func main() {
	flag.Parse()
	transport := &http.Transport{
		MaxIdleConnsPerHost: 1,
		MaxIdleConns:        *concurrency,
		IdleConnTimeout:     30 * time.Second,
	}
	c := &crawler{
		known: map[string]bool{},
		hosts: map[string]*host{},
		line:  make(chan string, 1<<20),
		done:  make(chan struct{}),
		client: &http.Client{
			Transport: transport,
			Timeout:   60 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
	}
	first, err := url.Parse(*seed)
	if err != nil || first.Host == "" {
		fmt.Fprintln(os.Stderr, "expected --seed URL")
		os.Exit(2)
	}
	c.add([]*url.URL{first})
	for i := 0; i < *concurrency; i++ {
		go c.work()
	}
	<-c.done
	c.mu.Lock()
	fmt.Printf("{\"pages\": %d}\n", c.pages)
}

// add queues URLs that are new and wanted.
func (c *crawler) add(found []*url.URL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range found {
		one.Fragment, one.RawFragment = "", ""
		if one.Scheme != "http" || !strings.HasSuffix(one.Hostname(), *within) {
			continue
		}
		if one.Path == "" {
			one.Path = "/"
		}
		text := one.String()
		if c.known[text] {
			continue
		}
		c.known[text] = true
		c.left++
		h := c.hosts[one.Host]
		if h == nil {
			h = &host{}
			c.hosts[one.Host] = h
		}
		h.urls = append(h.urls, text)
		if len(h.urls) == 1 {
			c.line <- one.Host
		}
	}
}

// work serves the first host in line until the crawl is done. The URL that is asked for stays in
// its host's queue until it is answered, so that the host is in line once.
func (c *crawler) work() {
	for name := range c.line {
		c.mu.Lock()
		h := c.hosts[name]
		text := h.urls[0]
		c.mu.Unlock()
		var found []*url.URL
		isPage := false
		if c.mayAsk(name, h, text) {
			found, isPage = c.visit(text)
		}
		c.add(found)
		c.mu.Lock()
		c.left--
		if isPage {
			c.pages++
		}
		h.urls = h.urls[1:]
		if len(h.urls) > 0 {
			c.line <- name
		}
		if !c.isDone && (c.pages >= *most || c.left == 0) {
			c.isDone = true
			close(c.done)
		}
		c.mu.Unlock()
	}
}

func (c *crawler) get(text string) (*http.Response, []byte) {
	request, err := http.NewRequest("GET", text, nil)
	if err != nil {
		return nil, nil
	}
	request.Header.Set("User-Agent", *agent)
	answer, err := c.client.Do(request)
	if err != nil {
		return nil, nil
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, nil
	}
	return answer, body
}

// mayAsk tells whether robots.txt allows a URL; a server error forbids the host.
func (c *crawler) mayAsk(name string, h *host, text string) bool {
	if h.robots == nil {
		answer, body := c.get("http://" + name + "/robots.txt")
		switch {
		case answer == nil || answer.StatusCode >= 500:
			h.robots = &rules{isClosed: true}
		case answer.StatusCode == 200:
			h.robots = parseRobots(string(body), *agent)
		default:
			h.robots = &rules{}
		}
	}
	at := strings.Index(text[7:], "/")
	return h.robots.allow(text[7+at:])
}

// visit fetches one page and returns where it leads.
func (c *crawler) visit(text string) ([]*url.URL, bool) {
	answer, body := c.get(text)
	if answer == nil {
		return nil, false
	}
	base, err := url.Parse(text)
	if err != nil {
		return nil, false
	}
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		if target, err := base.Parse(answer.Header.Get("Location")); err == nil {
			return []*url.URL{target}, false
		}
		return nil, false
	}
	if answer.StatusCode != 200 || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
		return nil, false
	}
	hrefs, own := linksIn(body)
	if own != "" {
		if other, err := base.Parse(own); err == nil {
			base = other
		}
	}
	seen := map[string]bool{}
	var found []*url.URL
	for _, href := range hrefs {
		if at := strings.IndexByte(href, '#'); at >= 0 {
			href = href[:at]
		}
		if href = strings.TrimSpace(href); href == "" || seen[href] {
			continue
		}
		seen[href] = true
		if target, err := base.Parse(href); err == nil {
			found = append(found, target)
		}
	}
	return found, true
}
