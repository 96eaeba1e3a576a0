#!/usr/bin/perl
# Fills a Movable Type that its own tool has just installed: a site with a theme's templates, and entries with tags, by Movable Type's own
# interface for Perl. Standard input has the entries, a line each: id, blog, date, title, tags, text (bench/seeds/mt-search/blog/make-entries).
#
# Prints the number of the site. Works with Movable Type 3 to 9.
use strict;
use warnings;
use MT;

my ($config, $author_name, $password, $url, $path, $theme) = @ARGV;
my $is_old = MT->version_number < 4;
# A theme is applied by the administration's program; MT itself lacks a method for that.
require MT::App::CMS unless $is_old;
my $mt = ($is_old ? 'MT' : 'MT::App::CMS')->new(Config => $config) or die MT->errstr;
require MT::Blog;
require MT::Author;
require MT::Entry;

my $blog = $is_old ? old_blog() : site();
my ($author) = MT::Author->load({ name => $author_name });
if (!$is_old) {
    # The Data API has passwords of its own.
    $author->api_password($password);
    $author->save or die $author->errstr;
}
while (my $line = <STDIN>) {
    chomp $line;
    my (undef, undef, $on, $title, $tags, $text) = split /\t/, $line, 6;
    add($on, $title, $text, split /,/, $tags);
}
# The front page, the feed, the style sheet. A page for each entry would take minutes, and no test asks for one.
$mt->rebuild_indexes(BlogID => $blog->id) or die $mt->errstr;
print $blog->id, "\n";

# The installer of version 3 makes a blog, and an author with fixed name and password.
sub old_blog {
    my $first = MT::Blog->load(1);
    $first->site_url($url);
    $first->archive_url($url);
    $first->site_path($path);
    $first->archive_path($path);
    $first->save or die $first->errstr;
    return $first;
}

# That of version 6 makes a site as well.
sub site {
    my $site = MT->model('website')->load || MT->model('website')->create_default_website('Harbour', site_theme => $theme, site_url => $url, site_path => $path)
        or die MT->model('website')->errstr;
    # Without this, the interface for programs refuses the site.
    $site->allow_data_api(1) if $site->has_column('allow_data_api');
    $site->save or die $site->errstr;
    return $site;
}

sub add {
    my ($on, $title, $text, @tags) = @_;
    (my $stamp = $on) =~ s/-//g;
    my $entry = MT::Entry->new;
    $entry->blog_id($blog->id);
    $entry->author_id($author->id);
    $entry->status(MT::Entry::RELEASE());
    $entry->title($title);
    $entry->text($text);
    $entry->tags(@tags);
    # The date of an entry has another name in version 3.
    $is_old ? $entry->created_on("${stamp}120000") : $entry->authored_on("${stamp}120000");
    $entry->allow_comments(0);
    $entry->save or die $entry->errstr;
}
