package queue

import (
	"errors"
	"sync"
	"time"
)

// ErrFull is returned where no more jobs are taken.
var ErrFull = errors.New("queue: full")

// Queue hands jobs to workers, in their order.
type Queue struct {
	mu    sync.Mutex
	jobs  []Job
	limit int
}

// Push appends a job.
func (q *Queue) Push(job Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) >= q.limit {
		return ErrFull
	}
	job.At = time.Now()
	q.jobs = append(q.jobs, job)
	return nil
}

// Pop takes the oldest job, and waits no longer than that.
func (q *Queue) Pop(wait time.Duration) (Job, bool) {
	deadline := time.Now().Add(wait)
	for {
		q.mu.Lock()
		if len(q.jobs) > 0 {
			job := q.jobs[0]
			q.jobs = q.jobs[1:]
			q.mu.Unlock()
			return job, true
		}
		q.mu.Unlock()
		if time.Now().After(deadline) {
			return Job{}, false
		}
		time.Sleep(5 * time.Millisecond)
	}
}
