# What Doxygen reads instead of the headers themselves: comments of C as documentation, and <names> in prose as they stand.
s|^/\*( \|$)|/**\1|
s|;( +)/\* |;\1/**< |
/^ *\/\/\/?/{
  /`/!s/<([A-Za-z_])/\\<\1/g
}
