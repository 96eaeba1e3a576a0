<?php
// Fills an installed gnuboard5 with boards, posts, members and items, the same in each run but for the day. site_under_test.py runs it with
// gnuboard loaded and with what it needs in $values; it prints as JSON what it has made.
//
// The settings of the four boards that the installer makes stay as they are. A post of qa or gallery costs its reader a point, which guests do not
// have: gnuboard refuses a guest there, but for a guest at the address that wrote the post.

$addresses = ['guest' => $_SERVER['REMOTE_ADDR'], 'member' => '127.0.0.78', 'admin' => '127.0.0.79'];
$hashes = ['guest' => get_encrypt_string($values['guest_password']), 'member' => get_encrypt_string($values['member_password'])];
// The rows of the list of new posts, which gnuboard shows by number: so they are written in the order of time.
$new = [];

function row($table, $fields)
{
    $pairs = [];
    foreach ($fields as $name => $value) {
        $pairs[] = "`$name` = '" . sql_real_escape_string($value) . "'";
    }
    sql_query("insert into `$table` set " . implode(', ', $pairs), true);
    return sql_insert_id();
}

function moment($days_ago, $minutes)
{
    global $values;
    return date('Y-m-d H:i:s', $values['midnight'] - $days_ago * 86400 + (9 * 60 + $minutes) * 60);
}

// The fields that say who wrote it: 'guest', 'admin' or a member's id.
function writer($who)
{
    global $values, $addresses, $hashes, $config;
    if ($who === 'guest') {
        return ['mb_id' => '', 'wr_name' => '지나가는손님', 'wr_password' => $hashes['guest'], 'wr_ip' => $addresses['guest']];
    }
    if ($who === 'admin') {
        $nick = get_member($config['cf_admin'])['mb_nick'];
        return ['mb_id' => $config['cf_admin'], 'wr_name' => $nick, 'wr_password' => '', 'wr_ip' => $addresses['admin']];
    }
    return ['mb_id' => $who, 'wr_name' => $values['members'][$who], 'wr_password' => '', 'wr_ip' => $addresses['member']];
}

function post($board, $number, $who, $subject, $content, $days_ago, $more = [])
{
    global $g5, $new;
    $when = moment($days_ago, $number);
    $table = $g5['write_prefix'] . $board;
    $seo = exist_seo_title_recursive('bbs', generate_seo_title($subject), $table, 0);
    $id = row($table, $more + writer($who) + ['wr_num' => -$number, 'wr_subject' => $subject, 'wr_content' => $content, 'wr_seo_title' => $seo,
        'wr_datetime' => $when, 'wr_last' => $when]);
    sql_query("update `$table` set wr_parent = wr_id where wr_id = $id", true);
    sql_query("update {$g5['board_table']} set bo_count_write = bo_count_write + 1 where bo_table = '$board'", true);
    $new[] = [$when, $board, $id, $id, writer($who)['mb_id']];
    return $id;
}

function comment($board, $parent, $place, $who, $content, $days_ago, $more = [])
{
    global $g5, $new;
    $when = moment($days_ago, 60 + $place);
    $table = $g5['write_prefix'] . $board;
    $above = sql_fetch("select wr_num from `$table` where wr_id = $parent");
    $id = row($table, $more + writer($who) + ['wr_num' => $above['wr_num'], 'wr_parent' => $parent, 'wr_is_comment' => 1, 'wr_comment' => $place,
        'wr_content' => $content, 'wr_datetime' => $when]);
    sql_query("update `$table` set wr_comment = wr_comment + 1, wr_last = '$when' where wr_id = $parent", true);
    sql_query("update {$g5['board_table']} set bo_count_comment = bo_count_comment + 1 where bo_table = '$board'", true);
    $new[] = [$when, $board, $id, $parent, writer($who)['mb_id']];
    return $id;
}

// A file beside a post, below the name that bbs/write_update.php would give it.
function attach($board, $post, $place, $source, $bytes, $days_ago)
{
    global $g5, $addresses;
    $directory = G5_DATA_PATH . '/file/' . $board;
    if (!is_dir($directory)) {
        mkdir($directory, G5_DIR_PERMISSION);
    }
    $name = md5(sha1($addresses['member'])) . '_' . substr(md5("$board $post $place"), 0, 8) . '_' . sha1($source);
    $name .= '.' . pathinfo($source, PATHINFO_EXTENSION);
    file_put_contents("$directory/$name", $bytes);
    $size = @getimagesize("$directory/$name") ?: [0, 0, 0];
    row($g5['board_file_table'], ['bo_table' => $board, 'wr_id' => $post, 'bf_no' => $place, 'bf_source' => $source, 'bf_file' => $name,
        'bf_content' => '', 'bf_filesize' => strlen($bytes), 'bf_width' => $size[0], 'bf_height' => $size[1], 'bf_type' => $size[2],
        'bf_datetime' => moment($days_ago, 0)]);
    sql_query("update `{$g5['write_prefix']}$board` set wr_file = wr_file + 1 where wr_id = $post", true);
}

// A beam in front of a sky; each number has a colour of its own.
function picture($number, $width, $height)
{
    $image = imagecreatetruecolor($width, $height);
    imagefilledrectangle($image, 0, 0, $width, $height, imagecolorallocate($image, 30 * $number % 256, 90, 255 - 20 * $number % 256));
    imagefilledellipse($image, $width / 2, $height / 2, $width / 3, $height / 3, imagecolorallocate($image, 250, 230, 120));
    imagestring($image, 5, 10, 10, "picture $number", imagecolorallocate($image, 255, 255, 255));
    ob_start();
    imagejpeg($image, null, 85);
    return ob_get_clean();
}

// Bytes that look random.
function noise($length)
{
    for ($bytes = ''; strlen($bytes) < $length; $bytes .= hash('sha256', 'noise ' . strlen($bytes), true)) {
    }
    return substr($bytes, 0, $length);
}

// A board like free, as the administration makes it from the settings of another.
function board($name, $subject, $settings)
{
    global $g5;
    $like = sql_fetch("select * from {$g5['board_table']} where bo_table = 'free'");
    $own = ['bo_table' => $name, 'bo_subject' => $subject, 'bo_count_write' => 0, 'bo_count_comment' => 0, 'bo_notice' => ''];
    row($g5['board_table'], $settings + $own + $like);
    sql_query("create table `{$g5['write_prefix']}$name` like `{$g5['write_prefix']}free`", true);
    mkdir(G5_DATA_PATH . '/file/' . $name, G5_DIR_PERMISSION);
}

foreach ($values['members'] as $id => $nick) {
    $joined = moment(40, 0);
    row($g5['member_table'], ['mb_id' => $id, 'mb_password' => $hashes['member'], 'mb_name' => "회원 $id", 'mb_nick' => $nick, 'mb_nick_date' => $joined,
        'mb_email' => "$id@example.org", 'mb_level' => 2, 'mb_mailling' => 1, 'mb_open' => 1, 'mb_open_date' => $joined, 'mb_datetime' => $joined,
        'mb_today_login' => moment(3, 0), 'mb_email_certify' => $joined, 'mb_ip' => $addresses['member'], 'mb_login_ip' => $addresses['member']]);
    insert_point($id, $config['cf_register_point'], '회원가입 축하', '@member', $id, '회원가입');
}
$members = array_keys($values['members']);
['members' => $members_board, 'long' => $long_board, 'secrets' => $secrets_board] = $values['boards'];
board($members_board, '회원전용', ['bo_read_level' => 2]);
board($long_board, '항구시험', []);
board($secrets_board, '비밀상담', ['bo_use_secret' => 1]);

// Each subject and each text has a word that is nowhere else: F1w and F1z, and so on.
$posts = $comments = $attachments = [];
for ($i = 1; $i <= 20; $i++) {
    $who = $i % 3 === 0 ? 'guest' : $members[$i % 6];
    $posts['free'][] = post('free', $i, $who, "자유글 F{$i}w", "등대 아래에서 쓴 글 본문F{$i}z\n\n바람은 북서쪽, 파도는 낮다.", 23 - $i);
}
for ($i = 1; $i <= 8; $i++) {
    $posts['notice'][] = post('notice', $i, 'admin', "공지사항 N{$i}w", "항구 사무소가 알립니다 본문N{$i}z", 20 - $i);
}
for ($i = 1; $i <= 5; $i++) {
    $posts['qa'][] = post('qa', $i, $i % 2 ? 'guest' : $members[$i], "질문 Q{$i}w", "배는 언제 떠납니까 본문Q{$i}z", 15 - $i);
}
for ($i = 1; $i <= 4; $i++) {
    $posts['gallery'][] = $id = post('gallery', $i, $i === 4 ? 'guest' : $members[$i], "사진 G{$i}w", "사진 설명 본문G{$i}z", 12 - $i);
    attach('gallery', $id, 0, "사진{$i}.jpg", picture($i, 640, 480), 12 - $i);
}
for ($i = 1; $i <= 3; $i++) {
    $posts[$members_board][] = post($members_board, $i, $members[$i], "회원글 M{$i}w", "회원만 읽는 말 본문M{$i}z", 10 - $i);
}
for ($i = 1; $i <= 6; $i++) {
    $who = $i % 2 ? 'guest' : $members[$i % 6];
    $posts[$long_board][] = post($long_board, $i, $who, "시험글 T{$i}w", "긴 이름의 게시판 본문T{$i}z", 10 - $i);
}
$posts[$secrets_board][] = post($secrets_board, 1, $members[0], '열린 상담 S1w', '누구나 읽는 상담 본문S1z', 6);
$more = ['wr_option' => 'secret'];
$posts[$secrets_board][] = $secret = post($secrets_board, 2, 'guest', '비밀 상담 S2w', '손님과 운영자만 읽는 말 본문S2z', 5, $more);

$last = end($posts['free']);
$comments['free'][] = comment('free', $last, 1, $members[1], '회원의 댓글 댓글C1z', 2);
$comments['free'][] = comment('free', $last, 2, 'guest', '손님의 댓글 댓글C2z', 2);
$comments['free'][] = $secret_comment = comment('free', $last, 3, 'guest', '비밀 댓글 댓글C3z', 2, $more);
$comments['free'][] = comment('free', $posts['free'][2], 1, 'guest', '오래된 글의 댓글 댓글C4z', 4);
$comments['notice'][] = comment('notice', end($posts['notice']), 1, $members[2], '공지의 댓글 댓글C5z', 3);
$comments[$members_board][] = comment($members_board, end($posts[$members_board]), 1, $members[3], '회원만 읽는 댓글 댓글C6z', 3);

$files = [18 => ['간조표.txt' => str_repeat("00:00 간조 12 cm\n", 200)],
    19 => ['soundings.csv' => str_repeat("7,fathoms\n", 900), '해도.zip' => noise(30000)]];
foreach ($files as $number => $of_the_post) {
    foreach (array_keys($of_the_post) as $place => $source) {
        attach('free', $number, $place, $source, $of_the_post[$source], 23 - $number);
        $attachments[$number][] = ['name' => $source, 'bytes' => strlen($of_the_post[$source]), 'md5' => md5($of_the_post[$source])];
    }
}

sort($new);
foreach ($new as [$when, $board, $id, $parent, $who]) {
    row($g5['board_new_table'], ['bo_table' => $board, 'wr_id' => $id, 'wr_parent' => $parent, 'bn_datetime' => $when, 'mb_id' => $who]);
}

foreach (['10' => '등대', '20' => '배'] as $category => $name) {
    row($g5['g5_shop_category_table'], ['ca_id' => $category, 'ca_name' => $name, 'ca_skin' => 'list.10.skin.php', 'ca_mobile_skin' => 'list.10.skin.php',
        'ca_img_width' => 225, 'ca_img_height' => 225, 'ca_mobile_img_width' => 230, 'ca_mobile_img_height' => 230, 'ca_list_mod' => 5, 'ca_list_row' => 5,
        'ca_mobile_list_mod' => 2, 'ca_mobile_list_row' => 5, 'ca_use' => 1, 'ca_stock_qty' => 99999]);
}
$items = [];
foreach (['등불', '렌즈', '깃발', '닻', '노', '돛'] as $i => $name) {
    $items[] = $id = (string) (1780000001 + $i);
    $title = "$name I" . ($i + 1) . 'w';
    mkdir(G5_DATA_PATH . "/item/$id", G5_DIR_PERMISSION);
    file_put_contents(G5_DATA_PATH . "/item/$id/picture.jpg", picture($i + 5, 500, 500));
    row($g5['g5_shop_item_table'], ['it_id' => $id, 'ca_id' => $i < 3 ? '10' : '20', 'it_name' => $title, 'it_seo_title' => generate_seo_title($title),
        'it_option_subject' => $i === 2 ? '색상' : '', 'it_type1' => 1, 'it_type2' => $i % 2, 'it_type3' => 1, 'it_type4' => $i < 3, 'it_type5' => $i === 5,
        'it_basic' => "튼튼한 $name", 'it_explan' => "$name 설명", 'it_mobile_explan' => "$name 설명", 'it_price' => 1000 * ($i + 1), 'it_use' => 1,
        'it_stock_qty' => 9999, 'it_time' => moment(9, $i), 'it_update_time' => moment(9, $i), 'it_ip' => $addresses['admin'],
        'it_img1' => "$id/picture.jpg"]);
}
foreach (['빨강' => 0, '파랑' => 500] as $colour => $price) {
    row($g5['g5_shop_item_option_table'], ['io_id' => $colour, 'io_type' => 0, 'it_id' => $items[2], 'io_price' => $price, 'io_stock_qty' => 9999,
        'io_use' => 1]);
}

$menu = ['10' => ['자유게시판', '/bbs/board.php?bo_table=free'], '20' => ['갤러리', '/bbs/board.php?bo_table=gallery'], '30' => ['쇼핑몰', '/shop/'],
    '3010' => ['등대', '/shop/list.php?ca_id=10'], '40' => ['항구 안내', '/bbs/content.php?co_id=harbour']];
foreach ($menu as $code => [$name, $path]) {
    row($g5['menu_table'], ['me_code' => $code, 'me_name' => $name, 'me_link' => $values['url'] . $path, 'me_target' => 'self', 'me_order' => 0,
        'me_use' => 1, 'me_mobile_use' => 1]);
}
$poll = row($g5['poll_table'], ['po_subject' => '어느 등대가 좋습니까 P1w', 'po_poll1' => '동쪽 등대', 'po_poll2' => '서쪽 등대', 'po_level' => 1,
    'po_date' => moment(5, 0), 'po_ips' => '', 'mb_ids' => '', 'po_use' => 1]);
row($g5['content_table'], ['co_id' => 'harbour', 'co_html' => 1, 'co_subject' => '항구 안내', 'co_content' => '<p>항구는 언제나 열려 있습니다 본문H1z</p>',
    'co_mobile_content' => '', 'co_skin' => 'basic', 'co_mobile_skin' => 'basic', 'co_seo_title' => generate_seo_title('항구 안내')]);
row($g5['faq_table'], ['fm_id' => 1, 'fa_subject' => '<p>등대는 언제 켜집니까 A1w</p>', 'fa_content' => '<p>해가 질 때 켜집니다 본문A1z</p>']);
$popup = row($g5['new_win_table'], ['nw_division' => 'both', 'nw_device' => 'both', 'nw_begin_time' => moment(10, 0), 'nw_end_time' => moment(-365, 0),
    'nw_disable_hours' => 24, 'nw_left' => 900, 'nw_top' => 760, 'nw_height' => 200, 'nw_width' => 300, 'nw_subject' => '알림',
    'nw_content' => '<p>오늘은 안개가 낍니다 알림W1z</p>', 'nw_content_html' => 1]);

echo json_encode(['posts' => $posts, 'comments' => $comments, 'attachments' => $attachments, 'secret_post' => $secret, 'secret_comment' => $secret_comment,
    'items' => $items, 'option_item' => $items[2], 'options' => ['빨강', '파랑'], 'poll' => $poll, 'content' => 'harbour', 'popup' => $popup]);
