-- +goose Up
-- Filters of lists that people have given a name.
CREATE TABLE saved_views (
    person_id  TEXT COLLATE "C" NOT NULL REFERENCES people (id),
    list       TEXT COLLATE "C" NOT NULL, -- the path of its page
    name       TEXT COLLATE "C" NOT NULL,
    query      TEXT NOT NULL, -- of the page's address
    created_at BIGINT NOT NULL,
    PRIMARY KEY (person_id, list, name)
);

-- +goose Down
DROP TABLE saved_views;
