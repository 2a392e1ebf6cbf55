-- +goose Up
-- Filters of lists that people have given a name.
CREATE TABLE saved_views (
    person_id  TEXT NOT NULL REFERENCES people (id),
    list       TEXT NOT NULL, -- the path of its page
    name       TEXT NOT NULL,
    query      TEXT NOT NULL, -- of the page's address
    created_at INTEGER NOT NULL,
    PRIMARY KEY (person_id, list, name)
);

-- +goose Down
DROP TABLE saved_views;
